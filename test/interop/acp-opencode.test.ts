import { drives } from "./drive-agent.ts";
import { opencode } from "./other-agents.ts";

drives(opencode);
