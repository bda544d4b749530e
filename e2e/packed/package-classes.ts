// Classes for tests of the packed package, as texts.

export const CLASSES = `
  import { DurableObject, env, RpcTarget } from 'ctx-storage/worker';
  class Total extends RpcTarget {
    async of(a, b) {
      const counters = [a, b].map((name) => env.Counter.getByName(name).count());
      return (await Promise.all(counters)).reduce((sum, count) => sum + count);
    }
  }
  export class Counter extends DurableObject {
    async add() {
      await this.ctx.storage.put('count', (await this.count()) + 1);
    }
    async count() {
      return (await this.ctx.storage.get('count')) ?? 0;
    }
    total() {
      return new Total();
    }
  }
`;

/** Calls the classes of the host `objects`. */
export const TOTAL = `
  const { Counter } = objects.env;
  await Promise.all(['a', 'a', 'b'].map((name) => Counter.getByName(name).add()));
  const total = await Counter.getByName('a').total().of('a', 'b');
  await objects.close();
`;
