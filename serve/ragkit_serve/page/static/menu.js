// A menu beside a button. It lies over the whole page, so that no scrolling box cuts it off.

import { $, make } from "./dom.js";

const MARGIN = 8; // pixels between the menu and the window's edge
let opener = null;

// Open the menu of a button: `items` are buttons and links. A second click closes it.
export function openMenu(button, label, items) {
  const again = opener === button;
  closeMenu();
  if (again) return;
  opener = button;
  button.setAttribute("aria-expanded", "true");
  for (const item of items) item.setAttribute("role", "menuitem");
  const menu = make("div", { id: "rk-menu", role: "menu", "aria-label": label }, ...items);
  document.body.append(menu);
  place(menu, button.getBoundingClientRect());
  items[0].focus();
}

export function closeMenu({ focus = false } = {}) {
  $("#rk-menu")?.remove();
  opener?.setAttribute("aria-expanded", "false");
  if (focus) opener?.focus();
  opener = null;
}

function place(menu, beside) {
  const { width, height } = menu.getBoundingClientRect();
  const below = beside.bottom + 4;
  const fits = below + height + MARGIN <= innerHeight;
  menu.style.top = `${Math.max(MARGIN, fits ? below : beside.top - height - 4)}px`;
  menu.style.left = `${Math.max(MARGIN, Math.min(beside.right - width, innerWidth - width - MARGIN))}px`;
}

document.addEventListener("click", ({ target }) => {
  if (opener && !opener.contains(target)) closeMenu();
});
for (const type of ["resize", "scroll"]) addEventListener(type, () => closeMenu(), true);

document.addEventListener("keydown", (event) => {
  if (!opener) return;
  const items = [...$("#rk-menu").children];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) items.at(to % items.length).focus();
  else if (event.key === "Tab") closeMenu();
  else if (event.key === "Escape") closeMenu({ focus: true });
  else return;
  if (event.key !== "Tab") {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);
