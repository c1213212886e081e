// What is wider than the page is scrolled by the keyboard too. Material sees to that for code, and
// only where there is a mouse.
addEventListener("load", () => {
  const noMouse = !matchMedia("(hover)").matches;
  for (const part of document.querySelectorAll(`.md-typeset__scrollwrap${noMouse ? ", pre" : ""}`)) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
});

// The gallery's filter: a card is shown when it has all that is chosen, and all the words.
const form = document.querySelector(".sg-filter");
if (form) {
  const cards = [...document.querySelectorAll(".sg-card")];
  const filter = () => {
    const chosen = new FormData(form);
    const words = chosen.get("words").toLowerCase().split(/\s+/);
    const has = (card, name) =>
      !chosen.get(name) || card.dataset[name].split("|").includes(chosen.get(name));
    for (const card of cards) {
      const text = card.textContent.toLowerCase();
      const fits = ["source", "queue", "flow"].every((name) => has(card, name));
      card.hidden = !(fits && words.every((word) => text.includes(word)));
    }
    const shown = cards.filter((card) => !card.hidden).length;
    form.querySelector("output").value = `${shown} of ${cards.length}`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
