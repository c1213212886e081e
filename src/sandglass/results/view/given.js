// The page's runs, and the text of each stream, out of the page itself; and it begins.
"use strict";

take(JSON.parse(byId("content").textContent), (/** @type {number} */ number) => {
  const element = byId(`stream-${number}`);
  element.remove();
  return element.textContent;
});
start();
