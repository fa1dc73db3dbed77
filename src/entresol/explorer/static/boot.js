/**
 * Start the explorer, also while the node is away: a browser keeps a module that it could not load as failed for as long
 * as the page lives, so a new page is loaded as soon as the node responds.
 */

import("./main.js").catch(async (error) => {
  console.info(error);
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  const title = document.createElement("h1");
  title.textContent = "The node is away";
  const text = document.createElement("p");
  text.textContent = "This page loads again by itself as soon as the node responds.";
  main.replaceChildren(title, text);
  const responds = () =>
    fetch("/explorer/node.json", { cache: "no-store" }).then(
      (response) => response.ok,
      () => false,
    );
  for (let seconds = 1; !(await responds()); seconds = Math.min(8, 2 * seconds))
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  location.reload();
});
