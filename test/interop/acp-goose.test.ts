import { drives } from "./drive-agent.ts";
import { goose } from "./other-agents.ts";

drives(goose);
