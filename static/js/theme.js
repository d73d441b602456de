// The choice of colours lives in a cookie, so that the server's first byte already has it: no flash of the other theme.
const ONE_YEAR_SECONDS = 365 * 24 * 3600;

export function watchThemes() {
  const group = document.querySelector("[data-themes]");
  if (!group) return;
  show(group);
  group.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]")?.dataset.themeChoice;
    if (!choice) return;
    remember(choice);
    show(group);
  });
}

function remember(choice) {
  const root = document.documentElement;
  if (choice === "system") delete root.dataset.theme;
  else root.dataset.theme = choice;
  const age = choice === "system" ? 0 : ONE_YEAR_SECONDS;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${choice}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
}

function show(group) {
  const current = document.documentElement.dataset.theme ?? "system";
  for (const button of group.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
  }
}
