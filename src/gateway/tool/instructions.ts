/**
 * What a model is told about the tools when a client connects. Clients put it into the model's context,
 * so it is short, and says only what the tools' own descriptions do not: which tool comes first.
 */
export const INSTRUCTIONS = `Trunkline connects you with the person's git identities, review comments and other tools.
- Git identities: before you commit or push, juggler_status says which identity this repository uses; juggler_detect_identity and juggler_switch put the right one in force. If a commit is refused by the guard, switch instead of bypassing it.
- Review comments: when the person mentions comments or a review, take them with review_claim, change the code, then call review_propose or review_reply on each. review_wait waits for new ones.
- Other tools come from the person's own MCP servers and plugins. A tool that answers that its server is starting, absent or needs a login can be tried again later; tell the person what it says.`;
