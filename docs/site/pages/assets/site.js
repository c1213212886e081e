// Material lets the keyboard scroll code only where there is a mouse.
if (!matchMedia("(hover)").matches) {
  for (const block of document.querySelectorAll("pre")) block.tabIndex = 0;
}

// The gallery's filter: a card is shown when it has all that is chosen, and all the words.
const form = document.querySelector(".sg-filter");
if (form) {
  const cards = [...document.querySelectorAll(".sg-card")];
  const filter = () => {
    const chosen = new FormData(form);
    const words = chosen.get("words").toLowerCase().split(/\s+/);
    for (const card of cards) {
      const has = (name) => !chosen.get(name) || card.dataset[name].split("|").includes(chosen.get(name));
      const text = card.textContent.toLowerCase();
      card.hidden = !(["source", "queue", "flow"].every(has) && words.every((word) => text.includes(word)));
    }
    const shown = cards.filter((card) => !card.hidden).length;
    form.querySelector("output").value = `${shown} of ${cards.length}`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
