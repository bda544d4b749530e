// What is timed: each entry is run on a fresh object, `setup` untimed, `run` timed from outside; it
// gives the number of operations. Plain JavaScript, because workerd runs the same file.
//
// Every round stores other values than the one before, because pages that do not change are not
// committed. `commits` is the least number of commits that a run makes; the harness checks it.

const TABLE = 'create table t(id integer primary key, a text, b)';
const FILL =
  'with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000) ' +
  "insert into t(a, b) select 'row' || x, x from c";

function insert10k({ storage }) {
  storage.transactionSync(() => {
    for (let i = 0; i < 10_000; i++) {
      storage.sql.exec('insert into t(a, b) values (?, ?)', `row${i}`, i);
    }
  });
}

export default {
  'get, cached, awaited': {
    async setup({ storage }) {
      await storage.put('k', { a: 1, b: 'x' });
    },
    async run({ storage }) {
      for (let i = 0; i < 20_000; i++) await storage.get('k');
      return 20_000;
    },
  },
  'kv.get': {
    async setup({ storage }) {
      await storage.put('k', { a: 1, b: 'x' });
    },
    async run({ storage }) {
      for (let i = 0; i < 50_000; i++) storage.kv.get('k');
      return 50_000;
    },
  },
  'put, awaited': {
    commits: 1,
    async run({ storage }) {
      for (let i = 0; i < 5000; i++) await storage.put(`k${i % 100}`, i);
      return 5000;
    },
  },
  'put + sync': {
    commits: 500,
    async run({ storage }) {
      for (let i = 0; i < 500; i++) {
        storage.put('k', i);
        await storage.sync();
      }
      return 500;
    },
  },
  '1,000 puts, then sync': {
    commits: 10,
    async run({ storage }) {
      for (let round = 0; round < 10; round++) {
        for (let i = 0; i < 1000; i++) storage.put(`k${i}`, round * 1000 + i);
        await storage.sync();
      }
      return 10_000;
    },
  },
  'put of 128 entries + sync': {
    commits: 50,
    async run({ storage }) {
      const entries = Object.fromEntries(Array.from({ length: 128 }, (_, v) => [`k${v}`, { v }]));
      for (let round = 0; round < 50; round++) {
        for (const entry of Object.values(entries)) entry.v += 1;
        await storage.put(entries);
        await storage.sync();
      }
      return 50 * 128;
    },
  },
  'list of 1,000': {
    async setup({ storage }) {
      for (let i = 0; i < 1000; i++) storage.put(`k${i}`, i);
      await storage.sync();
    },
    async run({ storage }) {
      let count = 0;
      for (let round = 0; round < 20; round++) count += (await storage.list()).size;
      return count;
    },
  },
  'insert of 10,000 rows, one transaction': {
    commits: 1,
    async setup({ storage }) {
      storage.sql.exec(TABLE);
      await storage.sync();
    },
    async run(ctx) {
      insert10k(ctx);
      await ctx.storage.sync();
      return 10_000;
    },
  },
  'point select': {
    async setup(ctx) {
      ctx.storage.sql.exec(TABLE);
      insert10k(ctx);
      await ctx.storage.sync();
    },
    async run({ storage: { sql } }) {
      let sum = 0;
      for (let i = 1; i <= 10_000; i++) sum += sql.exec('select b from t where id = ?', i).one().b;
      if (sum !== 49_995_000) throw new Error(`wrong sum ${sum}`);
      return 10_000;
    },
  },
  'cursor over 100,000 rows': {
    async setup({ storage }) {
      storage.sql.exec(TABLE);
      storage.sql.exec(FILL);
      await storage.sync();
    },
    async run({ storage }) {
      let count = 0;
      for (const row of storage.sql.exec('select * from t')) count += row.id ? 1 : 0;
      return count;
    },
  },
  'cursor over 100,000 rows, raw': {
    async setup({ storage }) {
      storage.sql.exec(TABLE);
      storage.sql.exec(FILL);
      await storage.sync();
    },
    async run({ storage }) {
      let count = 0;
      for (const row of storage.sql.exec('select * from t').raw()) count += row[0] ? 1 : 0;
      return count;
    },
  },
  'transaction of a get and a put': {
    commits: 200,
    async run({ storage }) {
      for (let i = 0; i < 200; i++) {
        await storage.transaction(async (txn) => {
          await txn.put('n', ((await txn.get('n')) ?? 0) + 1);
        });
      }
      return 200;
    },
  },
};
