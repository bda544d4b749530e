// A class that runs in pages and in workerd: items with unique names.

type Rows = Iterable<unknown[]>;

export function roomClass(Base: new (ctx: never, env: never) => object) {
  return class Room extends Base {
    declare ctx: {
      storage: { sql: { exec(query: string, ...bindings: unknown[]): { raw(): Rows } } };
    };

    constructor(ctx: never, env: never) {
      super(ctx, env);
      this.ctx.storage.sql.exec(
        'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
      );
    }

    add(name: string): string[] {
      this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
      return this.names();
    }

    names(): string[] {
      const rows = this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY id').raw();
      return [...rows].map(([name]) => String(name));
    }
  };
}
