// The module "trunkline/plugin/node": a script that imports it first says so if its Node is too old.
import { requireNode } from "./node-version.ts";

requireNode();
