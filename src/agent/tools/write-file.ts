import { type AgentTool, inputOf } from "./agent-tool.ts";
import { changeFile } from "./change-file.ts";

export const writeFile: AgentTool = {
  name: "write_file",
  description:
    "Makes a file, or replaces all of its content. To change a part of a file, use edit_file.",
  inputSchema: inputOf(
    {
      path: { type: "string", description: "From the workspace's folder, or absolute." },
      content: { type: "string", description: "All that the file is to hold." },
    },
    ["path", "content"],
  ),
  kind: "edit",
  need: "write",
  title: ({ path }) => `Write ${String(path)}`,
  async call(args, work) {
    const { path, content } = args as { path: string; content: string };
    const place = await work.files.places.findToWrite(path);
    await work.show({ locations: [{ path: place.path }] });
    const old = await work.files.readIfThere(place);
    return changeFile(work, place, { old, text: content });
  },
};
