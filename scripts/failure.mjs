/** A failure whose message is all a person needs: it is printed without a stack trace. */
export class Failure extends Error {}
