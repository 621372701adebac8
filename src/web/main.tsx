import { render } from "preact";

import { listenToKeys } from "./client/keyboard.ts";
import { followAddress } from "./client/router.ts";
import { begin } from "./client/state.ts";
import { App } from "./page/app.tsx";

followAddress();
listenToKeys();
const root = document.getElementById("app");
if (root === null) throw new Error("The page has no #app");
render(<App />, root);
begin().catch((error: unknown) => reportError(error));
