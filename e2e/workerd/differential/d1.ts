// A D1 database, and the questions that code can ask it. They run in this order, on the same tables.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

const all = (sql: string, ...values: unknown[]) => {
  return async (db: Untyped) =>
    shown(
      await db
        .prepare(sql)
        .bind(...values)
        .all(),
    );
};
const value = (sql: string, ...values: unknown[]) => {
  return (db: Untyped) =>
    db
      .prepare(sql)
      .bind(...values)
      .raw();
};
const bound = (given: unknown) => value('SELECT ? AS v, typeof(?1) AS t', given);

const ASKS: Readonly<Record<string, (db: Untyped) => unknown>> = {
  'the kind': (db) => [String(db), db.constructor.name, db.prepare('x').constructor.name],
  'create a table': all('CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT)'),
  'create an index': all('CREATE INDEX t_a ON t(a)'),
  'insert a row': all('INSERT INTO t(a, b) VALUES (?, ?)', 1, 'one'),
  'insert rows': all("INSERT INTO t(a, b) VALUES (2, 'two'), (3, 'three')"),
  'insert returning': all("INSERT INTO t(a, b) VALUES (4, 'four') RETURNING id, b"),
  'select all': all('SELECT * FROM t ORDER BY id'),
  'select by the key': all('SELECT * FROM t WHERE id = ?', 2),
  'select by an index': all('SELECT b FROM t WHERE a = ?', 3),
  'select nothing': all('SELECT * FROM t WHERE id = 99'),
  update: all("UPDATE t SET b = 'TWO' WHERE a = 2"),
  'update nothing': all("UPDATE t SET b = '' WHERE a = 99"),
  delete: all('DELETE FROM t WHERE a = 4'),
  upsert: all("INSERT INTO t(id, b) VALUES (1, 'x') ON CONFLICT DO UPDATE SET b = excluded.b"),
  'a comment after a statement': all('SELECT 1; -- end'),
  'a separator after another': all('SELECT 1;;'),
  'run of a select': async (db) => shown(await db.prepare('SELECT 1 AS one').run()),
  'run of an insert': async (db) => shown(await db.prepare('INSERT INTO t(a) VALUES (9)').run()),
  first: (db) => db.prepare('SELECT id, a FROM t ORDER BY id').first(),
  'first of a column': (db) => db.prepare('SELECT id, a FROM t ORDER BY id DESC').first('a'),
  'first of nothing': (db) => db.prepare('SELECT 1 WHERE 0').first(),
  'first of a column of nothing': (db) => db.prepare('SELECT 1 AS a WHERE 0').first('b'),
  'first of a null': (db) => db.prepare('SELECT NULL AS a').first('a'),
  'first of no such column': (db) => db.prepare('SELECT 1 AS a').first('b'),
  'first of null': (db) => db.prepare('SELECT 1 AS a').first(null),
  raw: value('SELECT id, a FROM t ORDER BY id LIMIT 2'),
  'raw with names': (db) => db.prepare('SELECT id, a FROM t LIMIT 1').raw({ columnNames: true }),
  'raw with names of nothing': (db) =>
    db.prepare('SELECT 1 AS a WHERE 0').raw({ columnNames: true }),
  'raw without names': (db) => db.prepare('SELECT 1 AS a').raw({ columnNames: false }),
  'the same name twice': all('SELECT 1 AS a, 2 AS a'),
  'the same name twice, raw': (db) =>
    db.prepare('SELECT 1 AS a, 2 AS a').raw({ columnNames: true }),
  'bind text': bound('häßlich'),
  'bind numbers': (db) => Promise.all([1, -1.5, 2 ** 53, -0].map((given) => bound(given)(db))),
  'the zero below zero': async (db) => {
    const row = await db.prepare('SELECT ? AS given, -0.0 AS own').bind(-0).first();
    return [Object.is(row.given, 0), Object.is(row.own, 0)];
  },
  'bind numbers that JSON lacks': (db) =>
    Promise.all([Number.NaN, Number.POSITIVE_INFINITY].map((given) => bound(given)(db))),
  'bind booleans': (db) => Promise.all([true, false].map((given) => bound(given)(db))),
  'bind null': bound(null),
  'bind undefined': bound(undefined),
  'bind an object': bound({}),
  'bind a function': bound(() => 1),
  'bind a bigint': bound(5n),
  'bind a date': async (db) => ((await told(() => bound(new Date(0))(db))) as Untyped).name,
  'bind a symbol': bound(Symbol('x')),
  'bind a buffer': bound(new Uint8Array([1, 2, 255]).buffer),
  'bind a view': bound(new Uint8Array([1, 2, 3, 4]).subarray(1, 3)),
  'bind a view of larger elements': bound(new Int16Array([-1, 300])),
  'bind a DataView': bound(new DataView(new ArrayBuffer(2))),
  'bind an array of bytes': bound([0, 255, 1.5]),
  'bind an array of others': bound([256]),
  'bind an empty array': bound([]),
  'bind too many': value('SELECT ?', 1, 2),
  'bind too few': value('SELECT ?, ?', 1),
  'numbered parameters': value('SELECT ?2, ?1, ?2', 'a', 'b'),
  'named parameters': value('SELECT :a', 1),
  'a bound statement twice': async (db) => {
    const statement = db.prepare('SELECT ? AS a');
    const [one, two] = [statement.bind(1), statement.bind(2)];
    return [
      await one.first('a'),
      await two.first('a'),
      await one.bind(3).first('a'),
      await one.first('a'),
    ];
  },
  'a blob': all("SELECT x'00ff' AS a, x'' AS b"),
  'numbers of 64 bits': value('SELECT 9007199254740993, -9223372036854775807, 1e999, 0.1'),
  'several statements': all('SELECT 1 AS a; SELECT 2 AS b'),
  'several statements with values': value('SELECT 1; SELECT ?', 5),
  'no statement': all(' '),
  'a comment': all('-- nothing'),
  'a comment in a line': all('\n  -- nothing'),
  'a comment and a statement': all('/* a */ SELECT 1 AS a -- b'),
  'a syntax error': all('SELEC 1'),
  'no such table': all('SELECT * FROM none'),
  'a unique constraint': all('INSERT INTO t(id) VALUES (1)'),
  'BEGIN, SAVEPOINT, COMMIT': async (db) => {
    const answers = [];
    for (const sql of ['BEGIN', 'SAVEPOINT a', 'COMMIT'])
      answers.push(await told(() => all(sql)(db)));
    return answers;
  },
  'a text that is no statement': async (db) => told(() => db.prepare(5).all()),
  batch: async (db) => {
    const insert = db.prepare('INSERT INTO t(a) VALUES (?)');
    const results = await db.batch([insert.bind(20), insert.bind(21), db.prepare('SELECT 1 AS a')]);
    return results.map(shown);
  },
  'a batch that fails': async (db) => {
    const insert = db.prepare('INSERT INTO t(a) VALUES (30)');
    return [
      await told(() => db.batch([insert, db.prepare('SELEC')])),
      await value('SELECT 1 FROM t WHERE a = 30')(db),
    ];
  },
  'an empty batch': (db) => db.batch([]),
  'a batch of no array': async (db) => ((await told(() => db.batch(5))) as Untyped).name,
  'exec of lines': async (db) => {
    const { count, duration } = await db.exec('SELECT 1\nSELECT 2; SELECT 3\n\n');
    return [count, typeof duration];
  },
  'exec with empty lines': async (db) => (await db.exec('SELECT 1\n\n-- x\nSELECT 2')).count,
  'exec that fails': async (db) => [
    await told(() => db.exec('INSERT INTO t(a) VALUES (40)\nSELEC')),
    await value('SELECT 1 FROM t WHERE a = 40')(db),
  ],
  'exec of a statement on two lines': (db) => db.exec('SELECT\n1'),
  'exec of nothing': (db) => db.exec(''),
  'foreign keys': async (db) => {
    await db.exec('CREATE TABLE p(id INTEGER PRIMARY KEY)\nCREATE TABLE c(p REFERENCES p(id))');
    const orphan = db.prepare('INSERT INTO c VALUES (1)');
    const parent = db.prepare('INSERT INTO p VALUES (1)');
    const later = db.prepare('PRAGMA defer_foreign_keys = on');
    return [await told(() => orphan.run()), (await db.batch([later, orphan, parent])).length];
  },
  'foreign keys broken at the end': async (db) =>
    db.batch([
      db.prepare('PRAGMA defer_foreign_keys = on'),
      db.prepare('INSERT INTO c VALUES (7)'),
    ]),
  'PRAGMA table_info': value('PRAGMA table_info(t)'),
  'PRAGMA that is refused': value('PRAGMA journal_mode = DELETE'),
  'functions of JSON': value(`SELECT json_extract('{"a":[1,2]}', '$.a[1]'), json('[1, 2]')`),
  'rows of JSON': value('SELECT value FROM json_each(?)', '[1,"a",null]'),
  ATTACH: value("ATTACH ':memory:' AS other"),
  'a virtual table': all('CREATE VIRTUAL TABLE f USING fts5(x)'),
  'drop a table': async (db) => (await db.prepare('DROP TABLE c').run()).success,
  dump: (db) => db.dump(),
  sessions: async (db) => {
    const answers = [];
    for (const constraint of ['first-primary', 'first-unconstrained', undefined, '', ' ']) {
      const session = db.withSession(constraint);
      const before = session.getBookmark();
      answers.push([
        before,
        await session.prepare('SELECT 1 AS a').first('a'),
        typeof session.getBookmark(),
      ]);
    }
    return answers;
  },
  'a session from a bookmark': async (db) => {
    const first = db.withSession('first-primary');
    await first.prepare('INSERT INTO t(a) VALUES (50)').run();
    const second = db.withSession(` ${first.getBookmark()} `);
    const same = second.getBookmark() === first.getBookmark();
    await second.batch([second.prepare('INSERT INTO t(a) VALUES (51)')]);
    return [same, second.getBookmark() > first.getBookmark()];
  },
  'a session from any text': (db) => db.withSession('first-other').getBookmark(),
  'through proxies': (db) => through(db, (given) => new Proxy(given, {})),
  'through objects that inherit': (db) => through(db, Object.create),
  'members of a session': (db) => [typeof db.withSession().exec, typeof db.withSession().dump],
};

/** Calls the methods through a wrapper, as SDKs do: the wrapper is their `this`. */
async function through(db: Untyped, wrap: (given: object) => Untyped): Promise<unknown[]> {
  const [wrapped, session] = [wrap(db), wrap(db.withSession())];
  const select = () => wrap(wrapped.prepare('SELECT ? AS a').bind(1));
  const [batched] = await wrapped.batch([select()]);
  const [ofSession] = await session.batch([wrap(session.prepare('SELECT 2 AS a'))]);
  return [
    batched.results,
    ofSession.results,
    (await wrapped.exec('SELECT 1')).count,
    await select().first(),
    (await select().all()).results,
    (await select().run()).results,
    await select().raw(),
    typeof session.getBookmark(),
    await wrapped.withSession().prepare('SELECT 3 AS a').first('a'),
  ];
}

/** The result of each. */
export async function d1All(db: Untyped): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) answers[what] = await told(() => ask(db));
  return answers;
}

async function told(ask: () => unknown): Promise<unknown> {
  try {
    return (await ask()) ?? null;
  } catch (error) {
    const { name, message, cause } = error as Error;
    return { name, message, cause: cause instanceof Error ? cause.message : typeof cause };
  }
}

/** Returns the result without the duration, and without the size, to which each engine adds a table of its own. */
function shown({ meta, ...result }: Untyped): unknown {
  const { duration, size_after } = meta;
  return { ...result, meta: { ...meta, duration: typeof duration, size_after: size_after % 4096 } };
}
