// Runs before anything is painted: styles and markup that need a script are shown only where one runs.
document.documentElement.classList.add("js");
