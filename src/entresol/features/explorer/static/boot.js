/**
 * Apply the chosen theme before anything is drawn, then start the explorer. No module: those run once the page is there,
 * and a reload of a dark page would begin with a flash of the light one.
 */

{
  const chosen = localStorage.getItem("entresol-theme");
  if (chosen && chosen !== "system") document.documentElement.dataset.theme = chosen;
}

// The page of a chain has a path of its own, too.
if (location.pathname !== "/") location.replace(`/#${location.pathname.replace("/explorer", "")}`);

addEventListener("DOMContentLoaded", () => import("./main.js").catch(startLater));

/**
 * Start the explorer once the node is back: a browser keeps a module that it could not load as failed for as long as the
 * page lives, so a new page is loaded as soon as the node responds.
 * @param {unknown} error
 */
async function startLater(error) {
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
}
