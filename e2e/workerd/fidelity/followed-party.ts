// A server of PartyServer with methods for RPC: `setName`, which is the library's own, prepares it, as `getServerByName` does.

type ServerClass = new (
  ctx: never,
  env: never,
) => {
  sql<Row>(strings: TemplateStringsArray, ...values: unknown[]): Row[];
  broadcast(message: string): void;
};

/** `Server`: of `partyserver`. */
export function partyOf(Server: ServerClass) {
  return class Party extends Server {
    static options = { hibernate: true };

    onStart() {
      this.sql`CREATE TABLE IF NOT EXISTS said (text TEXT PRIMARY KEY, atMs INTEGER)`;
    }

    onMessage(_connection: object, text: string) {
      this.say(text);
    }

    say(text: string) {
      this.sql`INSERT INTO said VALUES (${text}, ${Date.now()})`;
      this.broadcast(text);
    }

    texts(): string[] {
      return this.sql<{ text: string }>`SELECT text FROM said`.map(({ text }) => text);
    }
  };
}
