// What the theme leaves out for readers who use a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  // Captions of the sidebar have the role of a heading, which needs a level.
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) caption.setAttribute("aria-level", "2");
  // Code and tables that scroll can be reached with the tab key.
  for (const box of document.querySelectorAll("pre, .table-wrapper")) box.setAttribute("tabindex", "0");
  // Pictures of the gallery link to an example whose name stands beside them.
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    const title = link.closest(".sphx-glr-thumbcontainer").querySelector(".sphx-glr-thumbnail-title");
    if (title) link.setAttribute("aria-label", title.textContent);
  }
  // Lists of references have roles that belong to no list.
  for (const box of document.querySelectorAll('.citation-list[role="list"], .citation[role]')) box.removeAttribute("role");
  // Both sidebars are asides: each needs a name of its own.
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Site");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  // The buttons above the text stand outside of all landmarks.
  for (const bar of document.querySelectorAll(".content-icon-container, .mobile-header")) bar.setAttribute("role", "navigation");
  document.querySelector(".content-icon-container")?.setAttribute("aria-label", "View");
});
