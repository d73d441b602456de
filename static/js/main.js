// What neither HTML nor HTMX can do. Every page works without it.
import { watchDialogs } from "./dialog.js";
import { watchDone } from "./done.js";
import { watchMenus } from "./menu.js";
import { watchMessages } from "./messages.js";
import { watchPictures } from "./pictures.js";
import { watchPlayers } from "./player.js";
import { watchPolling } from "./poll.js";
import { watchSearch } from "./search.js";
import { watchShortcuts } from "./shortcuts.js";
import { watchSuggestions } from "./suggest.js";
import { watchThemes } from "./theme.js";
import { watchTimes } from "./times.js";
import { watchUploads } from "./upload.js";

watchThemes();
watchTimes();
watchMenus();
watchDialogs();
watchMessages();
watchPolling();
watchPictures();
watchPlayers();
watchUploads();
watchSearch();
watchShortcuts();
watchDone();
watchSuggestions();
