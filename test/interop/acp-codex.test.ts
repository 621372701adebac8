import { drives } from "./drive-agent.ts";
import { codex } from "./other-agents.ts";

drives(codex);
