// For tests: a class that uses keys, SQL, transactions, triggers, cascades and REPLACE, with methods that throw, wait and
// reach outside. It runs on every platform.

type Ctx = {
  abort(reason: string): void;
  storage: {
    sql: {
      exec(
        query: string,
        ...bindings: unknown[]
      ): Iterable<Record<string, unknown>> & { raw(): Iterable<unknown[]> };
    };
    kv: {
      get(key: string): unknown;
      put(key: string, value: unknown): void;
      delete(key: string): boolean;
      list(): Iterable<[string, unknown]>;
    };
    transaction<T>(closure: (txn: { rollback(): void }) => Promise<T>): Promise<T>;
    transactionSync<T>(callback: () => T): T;
    deleteAll(): Promise<void>;
    sync(): Promise<void>;
  };
};

/** The methods that followers may call. */
export const MIXED_METHODS = [
  ...['add', 'rename', 'replace', 'remove', 'refuse', 'keys', 'together', 'undone', 'slow'],
  ...['grow', 'outside', 'empty', 'log', 'dump'],
] as const;

/** Makes a random call of one of these methods, which `dump` lists by its id. `pick` returns a random number below another. */
export function mixedCall(id: string, pick: (count: number) => number): [string, ...unknown[]] {
  const name = () => 'abcdefgh'[pick(8)]!.repeat(1 + pick(2));
  const calls: [string, ...unknown[]][] = [
    ...Array.from({ length: 4 }, (): [string, ...unknown[]] => ['add', id, name()]),
    ['rename', id, name(), name()],
    ['replace', id, 1 + pick(6), name()],
    ['remove', id, name()],
    ['refuse', id, name()],
    ['keys', id, name(), pick(3) === 0 ? null : [pick(9), 'x'.repeat(pick(2000))]],
    ['together', id, [name(), name()]],
    ['undone', id, name()],
    ['slow', id, name()],
  ];
  const rare: [string, ...unknown[]][] = [
    ['grow', id, name()],
    ['outside', id],
    ['empty', id],
  ];
  return pick(12) === 0 ? rare[pick(rare.length)]! : calls[pick(calls.length)]!;
}

/** Makes the class on the platform's base class. */
export function mixedClass(Base: new (ctx: never, env: never) => object) {
  return class Mixed extends Base {
    declare ctx: Ctx;
    /**
     * The number of `empty` calls that have deleted the table `done` and have not yet stored its rows durably again.
     */
    emptying = 0;

    constructor(ctx: never, env: never) {
      super(ctx, env);
      this.prepare();
    }

    prepare() {
      const { sql } = this.ctx.storage;
      sql.exec(`
        CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, n INTEGER DEFAULT 0);
        CREATE TABLE IF NOT EXISTS part (a TEXT, b, item INTEGER REFERENCES item ON DELETE CASCADE, PRIMARY KEY (a, b)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS done (call TEXT, UNIQUE (call));
        CREATE TRIGGER IF NOT EXISTS touched AFTER UPDATE OF name ON item BEGIN UPDATE item SET n = n + 1 WHERE id = NEW.id; END;`);
    }

    log(call: string) {
      this.ctx.storage.sql.exec('INSERT INTO done VALUES (?)', call);
      return call;
    }

    add(call: string, name: string) {
      this.ctx.storage.sql.exec('INSERT OR IGNORE INTO item (name) VALUES (?)', name);
      this.ctx.storage.sql.exec(
        'INSERT OR REPLACE INTO part SELECT ?, id, id FROM item WHERE name = ?',
        name.slice(0, 1),
        name,
      );
      return this.log(call);
    }

    rename(call: string, from: string, to: string) {
      this.ctx.storage.sql.exec('UPDATE OR REPLACE item SET name = ? WHERE name = ?', to, from);
      return this.log(call);
    }

    replace(call: string, id: number, name: string) {
      const { sql } = this.ctx.storage;
      sql.exec('REPLACE INTO item (id, name) VALUES (?, ?)', id, name);
      return this.log(call);
    }

    remove(call: string, name: string) {
      this.ctx.storage.sql.exec('DELETE FROM item WHERE name >= ?', name);
      return this.log(call);
    }

    refuse(call: string, name: string) {
      this.log(call);
      this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name); // This throws if the name exists.
      return call;
    }

    keys(call: string, key: string, value: unknown) {
      const { kv } = this.ctx.storage;
      if (value === null) kv.delete(key);
      else kv.put(key, { value, was: kv.get(key) === undefined });
      return this.log(call);
    }

    async together(call: string, names: string[]) {
      await this.ctx.storage.transaction(async () => {
        for (const name of names) {
          this.ctx.storage.sql.exec('INSERT OR IGNORE INTO item (name) VALUES (?)', name);
          await Promise.resolve();
        }
      });
      return this.log(call);
    }

    undone(call: string, name: string) {
      try {
        this.ctx.storage.transactionSync(() => {
          this.ctx.storage.kv.put('undone', name);
          this.ctx.storage.sql.exec('DELETE FROM item');
          throw new Error('undone');
        });
      } catch {
        // The transaction fails on purpose.
      }
      return this.log(call);
    }

    async slow(call: string, name: string) {
      this.ctx.storage.kv.put(`slow ${name}`, call);
      await new Promise((resolve) => setTimeout(resolve, 3));
      return this.log(call);
    }

    grow(call: string, column: string) {
      const { sql } = this.ctx.storage;
      const has = [
        ...sql.exec("SELECT 1 AS one FROM pragma_table_info('item') WHERE name = ?", column),
      ];
      if (has.length === 0) sql.exec(`ALTER TABLE item ADD COLUMN "${column}" DEFAULT 7`);
      return this.log(call);
    }

    async outside(call: string) {
      this.log(call);
      await fetch('http://127.0.0.1:1/').catch(() => {});
      return call;
    }

    async empty(call: string) {
      const done = [...this.ctx.storage.sql.exec('SELECT call FROM done').raw()];
      this.emptying += 1;
      await this.ctx.storage.deleteAll();
      this.prepare();
      for (const [known] of done) this.log(String(known));
      this.log(call);
      await this.ctx.storage.sync();
      this.emptying -= 1;
      return call;
    }

    /** Ends the instance, which loses commits that are not durable, but never between the two commits of `empty`. */
    async end() {
      while (this.emptying > 0) await new Promise((resolve) => setTimeout(resolve));
      this.ctx.abort('ended by the test');
    }

    dump() {
      const { sql, kv } = this.ctx.storage;
      const rows = (query: string) => [...sql.exec(query).raw()].map((row) => JSON.stringify(row));
      const own = "name NOT LIKE '\\_follow%' ESCAPE '\\' AND name NOT LIKE '\\_cf%' ESCAPE '\\'";
      return {
        schema: rows(`SELECT type, name, sql FROM sqlite_master WHERE ${own} ORDER BY type, name`),
        item: rows('SELECT * FROM item ORDER BY id'),
        part: rows('SELECT * FROM part ORDER BY a, b'),
        done: rows('SELECT rowid, call FROM done ORDER BY call'),
        sequences: rows(
          "SELECT * FROM sqlite_sequence WHERE name NOT LIKE '\\_follow%' ESCAPE '\\'",
        ),
        kv: [...kv.list()].map((entry) => JSON.stringify(entry)),
      };
    }
  };
}
