// The class of the benchmark of pages that follow, on both sides: a list of notes.

interface ObjectBase {
  readonly ctx: {
    readonly storage: {
      readonly sql: { exec(query: string, ...bindings: unknown[]): { one(): unknown } };
    };
  };
}

export function listClass(Base: new (ctx: never, env: never) => object) {
  return class List extends (Base as new (ctx: never, env: never) => ObjectBase) {
    constructor(ctx: never, env: never) {
      super(ctx, env);
      this.ctx.storage.sql.exec(
        'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT)',
      );
    }

    add(name: string): void {
      this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    }

    fill(count: number): void {
      this.ctx.storage.sql.exec(
        "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) INSERT INTO item (name) SELECT 'some text of row ' || i FROM c",
        count,
      );
    }

    count(): number {
      return Number(
        (this.ctx.storage.sql.exec('SELECT count(*) AS n FROM item').one() as { n: number }).n,
      );
    }
  };
}
