// What an object holds before it moves and after, written and read by the same code in workerd and
// here.

const values = () => {
  const shared = { shared: true };
  const circular = { list: [] };
  circular.list.push(circular);
  const bytes = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const error = Object.assign(new RangeError('too far', { cause: shared }), { code: 'FAR' });
  return {
    primitives: [0, -0, 1, -1, 1.5, NaN, Infinity, 2 ** 31, 2 ** 53, 5e-324, '', true, false, null],
    undefined: { inside: undefined, list: [undefined] },
    text: ['x', 'é', '😀', '\ud800', 'a\0b', 'x'.repeat(5000)],
    bigints: [0n, -1n, 2n ** 200n, -(2n ** 64n)],
    dates: [new Date(0), new Date(-1), new Date(NaN)],
    regexps: [/a(b)+\/c/giu, /x/],
    boxed: [new Number(3), new String('s'), new Boolean(false), Object(7n)],
    maps: new Map([
      [shared, new Set([shared, 1])],
      ['k', new Map()],
    ]),
    arrays: [Object.assign([], { 0: 1, 2: 3 }), Object.assign([1], { extra: 'yes' }), new Array(2)],
    objects: { z: 1, 2: 'two', __proto__: null, nested: { a: { b: {} } } },
    buffers: [bytes, new ArrayBuffer(0), new ArrayBuffer(4, { maxByteLength: 16 })],
    views: [
      new Uint8Array(bytes, 1, 2),
      new Int8Array(bytes),
      new Uint8ClampedArray(bytes),
      new Uint16Array(bytes),
      new Int16Array(bytes),
      new Uint32Array(bytes),
      new Int32Array(bytes),
      new Float32Array(bytes),
      new Float64Array(bytes),
      new BigInt64Array(bytes),
      new BigUint64Array(bytes),
      new DataView(bytes, 3, 2),
    ],
    shared: [shared, shared],
    circular,
    errors: [new Error('e'), new TypeError('t'), error, new AggregateError([error], 'many')],
    headers: new Headers({ 'x-one': '1', accept: 'text/plain' }),
    largest: 'x'.repeat(131_072),
  };
};

export async function fill(storage, bulkCount, alarmMs) {
  for (const [name, value] of Object.entries(values())) await storage.put(name, value);
  for (let i = 0; i < bulkCount; i++) {
    storage.kv.put(`bulk ${String(i).padStart(6, '0')} é😀`, { i, text: `value ${i * 7919}` });
  }
  storage.sql.exec(`
    CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, photo BLOB);
    CREATE INDEX by_length ON people (length(name));
    CREATE TABLE log (text TEXT) STRICT;
    CREATE TRIGGER logs AFTER INSERT ON people BEGIN INSERT INTO log VALUES (new.name); END;
    CREATE VIEW names AS SELECT name FROM people;
    CREATE VIRTUAL TABLE words USING fts5(body);
    INSERT INTO words VALUES ('hello there');
    INSERT INTO people (name, photo) VALUES ('Ada', x'00ff'), ('Grace', NULL);
  `);
  await storage.setAlarm(alarmMs);
}

export async function read(storage, canonicalize) {
  const stored = await storage.list({ end: 'bulk' });
  for (const [key, value] of await storage.list({ start: 'bulk!' })) stored.set(key, value);
  let count = 0;
  let sum = 0;
  for (const [key, value] of storage.kv.list({ prefix: 'bulk ' })) {
    count += 1;
    for (const unit of key + JSON.stringify(value))
      sum = (Math.imul(sum, 31) + unit.codePointAt(0)) >>> 0;
  }
  const exec = (sql) => storage.sql.exec(sql).raw().toArray();
  return {
    values: Object.fromEntries([...stored].map(([key, value]) => [key, canonicalize(told(value))])),
    bulk: [count, sum],
    rows: exec('SELECT id, name, hex(photo) FROM people').concat(
      exec('SELECT * FROM log'),
      exec('SELECT * FROM names'),
    ),
    found: exec("SELECT body FROM words('hello')"),
    alarm: await storage.getAlarm(),
  };
}

// Errors and headers with what is in them, of which the canonical form tells nothing.
function told(value) {
  if (value instanceof Headers) return [...value];
  if (Array.isArray(value) && value[0] instanceof Error) {
    return value.map((error) => [
      error.name,
      error.message,
      error.code,
      error.cause,
      error.errors?.length,
    ]);
  }
  return value;
}
