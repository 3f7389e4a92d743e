"use strict";
/* Shows only the kernels that contain what is searched for. */
const search = document.getElementById("search");
const found = document.getElementById("found");
search.hidden = false;
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  for (const kernel of document.querySelectorAll(".kernel")) {
    kernel.hidden = wanted !== "" && !kernel.textContent.toLowerCase().includes(wanted);
    shown += kernel.hidden ? 0 : 1;
  }
  for (const section of document.querySelectorAll("section")) {
    section.hidden = wanted !== "" && !section.querySelector(".kernel:not([hidden])");
  }
  found.textContent = wanted === "" ? "" : shown === 1 ? "1 kernel" : shown + " kernels";
});
