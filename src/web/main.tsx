import { render } from "preact";

import { listenToKeys } from "./client/keyboard.ts";
import { followAddress } from "./client/router.ts";
import { begin } from "./client/state.ts";
import { App } from "./page/app.tsx";
import "./style/base.css";
import "./style/controls.css";
import "./style/table.css";
import "./style/session.css";
import "./style/pages.css";

followAddress();
listenToKeys();
const root = document.getElementById("app");
if (root === null) throw new Error("The page has no #app");
render(<App />, root);
begin().catch((error: unknown) => reportError(error));
