import { drives } from "./drive-agent.ts";
import { claude } from "./other-agents.ts";

drives(claude);
