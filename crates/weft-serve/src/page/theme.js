// Sets the theme before the first paint. A classic script in the head: modules run too late.
(() => {
  let theme = null;
  try {
    theme = JSON.parse(localStorage.getItem("weft.settings"))?.theme;
  } catch {
    // No storage, or not ours: the system's theme.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
