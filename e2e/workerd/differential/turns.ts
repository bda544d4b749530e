// A class whose constructor runs SQL and whose calls write a row, a key and an alarm in one turn, and the writes that stay
// when the object is aborted in the middle of the turn, at its end, or later.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

const FAR_FUTURE_MS = 4_000_000_000_000;

/** The writes of a call, in each order. */
const ORDERS = ['row key alarm', 'row alarm key', 'key row alarm', 'alarm row key', 'sync key row'];

/** The steps between the writes and the abort. */
const ENDS = ['nothing', 'a read', 'sync', 'a timer', 'half', 'half and a timer', 'another call'];

/** The class `Turns`. */
export function turnsOf({ DurableObject }: Bases) {
  return class Turns extends DurableObject {
    declare readonly ctx: Untyped;

    constructor(ctx: never, env: never) {
      super(ctx, env);
      const { sql } = this.ctx.storage;
      sql.exec('CREATE TABLE IF NOT EXISTS entry(n INTEGER)');
      sql.exec('CREATE TABLE IF NOT EXISTS told(n INTEGER)');
      sql.exec(
        'CREATE TRIGGER IF NOT EXISTS tells AFTER INSERT ON entry BEGIN INSERT INTO told VALUES(new.n); END',
      );
    }

    alarm() {}

    add(order: string) {
      const steps = order.split(' ');
      for (const step of steps) this.#write(step, this.#next(step));
    }

    /** Adds an entry, and ends the object. */
    async addAndAbort(order: string, end: string) {
      const steps = order.split(' ');
      const half = end.startsWith('half') ? steps.slice(0, 1) : steps;
      for (const step of half) this.#write(step, this.#next(step));
      const { storage } = this.ctx;
      if (end === 'a read') await storage.get('n');
      if (end === 'sync') await storage.sync();
      if (end.endsWith('a timer')) await new Promise((resolve) => setTimeout(resolve, 20));
      this.ctx.abort('by itself');
    }

    stored() {
      const { kv, sql } = this.ctx.storage;
      const count = (table: string) => sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n;
      return this.ctx.storage
        .getAlarm()
        .then((alarm: number | null) => [
          count('entry'),
          count('told'),
          kv.get('n') ?? 0,
          alarm === null ? 0 : alarm - FAR_FUTURE_MS,
        ]);
    }

    #next(step: string): number {
      const { kv, sql } = this.ctx.storage;
      if (step === 'key') return (kv.get('n') ?? 0) + 1;
      return sql.exec('SELECT count(*) AS n FROM entry').one().n + 1;
    }

    #write(step: string, n: number) {
      const { storage } = this.ctx;
      if (step === 'key') storage.kv.put('n', n);
      else if (step === 'alarm') void storage.setAlarm(FAR_FUTURE_MS + n);
      else if (step === 'row') storage.sql.exec('INSERT INTO entry VALUES(?)', n);
      else {
        storage.transactionSync(() => storage.sql.exec('INSERT INTO entry VALUES(?)', n));
      }
    }
  };
}

/** The numbers that are stored after each, in a first call and in a later one. */
export async function turnsAll(all: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const order of ORDERS) {
    for (const end of ENDS) {
      const name = `${order}, then ${end}`;
      const ended: unknown[] = [];
      const again = () => all.getByName(name);
      for (const before of [0, 1]) {
        const one = again();
        if (before === 1) await one.add(order);
        const calls = [one.addAndAbort(order, end)];
        if (end === 'another call') calls.unshift(one.add(order));
        await Promise.allSettled(calls);
        ended.push(await again().stored());
      }
      seen[name] = ended;
    }
  }
  return seen;
}
