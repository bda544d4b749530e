import type * as workers from '@cloudflare/workers-types';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type {
  DurableObjectId,
  DurableObjectState,
  DurableObjectStub,
  FacetStartupOptions,
  Namespace,
  RpcStub,
} from './object.ts';
import { ObjectIdFactory } from './object-id.ts';
import { RpcTarget } from './rpc-target.ts';

class Target extends RpcTarget {
  next(): number {
    return 1;
  }
}

class Counter {
  protected readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }
  increment(by?: number): number {
    return by ?? 1;
  }
  async load(key: string): Promise<{ at: Date; tags: Map<string, Set<number>> }> {
    return { at: new Date(key.length), tags: new Map() };
  }
  subscribe(listener: (value: number) => Promise<void>): void {
    void listener(1);
  }
  adopt(target: RpcStub<Target>): void {
    void target.next();
  }
  target(): Target {
    return new Target();
  }
  controls(): { stop: (why: string) => boolean } {
    return { stop: () => true };
  }
  get size(): number {
    return 1;
  }
  alarm(): void {}
  fetch(_request: Request): Response {
    return new Response();
  }
}

declare const stub: DurableObjectStub<Counter>;
declare const namespace: Namespace<Counter>;
type Stub = typeof stub;

// Checked by the compiler; the functions never run.
describe('types', () => {
  test('[TYPE1] methods give promises of their results', () => {
    expectTypeOf<Stub['increment']>().returns.toEqualTypeOf<Promise<number>>();
    type Loaded = Awaited<ReturnType<Stub['load']>>;
    expectTypeOf<Loaded>().toEqualTypeOf<{ at: Date; tags: Map<string, Set<number>> }>();
    expectTypeOf<Stub['size']>().toEqualTypeOf<Promise<number>>();
  });

  test('[TYPE2] a stub lacks the members that its class hides', () => {
    const misuse = async () => {
      // @ts-expect-error no such method
      await stub.decrement();
      // @ts-expect-error a wrong argument
      await stub.increment('1');
      // @ts-expect-error protected
      void stub.ctx;
      // @ts-expect-error a handler of the runtime
      await stub.alarm();
      // @ts-expect-error a promise, not a number
      stub.increment().toFixed();
      // @ts-expect-error an id, not a name
      namespace.get('name');
      // @ts-expect-error no such jurisdiction
      namespace.jurisdiction('mars');
    };
    expect(misuse).toBeTypeOf('function');
    expectTypeOf<Stub['fetch']>().returns.toExtend<Promise<Response>>();
  });

  test('[TYPE1] functions and targets become functions and stubs of promises', () => {
    const use = async () => {
      await Promise.all([stub.increment(), stub.increment(2)]);
      await stub.subscribe((value) => void value.toFixed());
      await stub.subscribe(async (value) => void value.toFixed());
      await stub.adopt(new Target());
      const target = await stub.target();
      expectTypeOf(target.next()).toEqualTypeOf<Promise<number>>();
      await stub.adopt(target);
      target[Symbol.dispose]();
      const { stop } = await stub.controls();
      expectTypeOf(await stop('because')).toEqualTypeOf<boolean>();
      // @ts-expect-error takes a word
      await stop(1);
    };
    expect(use).toBeTypeOf('function');
  });

  test('[TYPE1] members of a result can be used before it is here', async () => {
    const use = async () => {
      expectTypeOf(await stub.target().next()).toEqualTypeOf<number>();
      expectTypeOf(await stub.controls().stop('now')).toEqualTypeOf<boolean>();
      expectTypeOf(await stub.load('a').at).toEqualTypeOf<Date>();
      // @ts-expect-error a Date has no members before it is here
      await stub.load('a').at.getTime();
      // @ts-expect-error nor has a number
      await stub.increment().toFixed();
      // @ts-expect-error no such method
      await stub.target().previous();
    };
    expect(use).toBeTypeOf('function');
  });

  test('[TYPE4] ids pass between these types and workerd’s', () => {
    expectTypeOf<DurableObjectId>().toExtend<workers.DurableObjectId>();
    expectTypeOf<workers.DurableObjectId>().toExtend<DurableObjectId>();
    const id: DurableObjectId = new ObjectIdFactory('key').fromName('a');
    expect(id.equals(new ObjectIdFactory('key').fromString(String(id)))).toBe(true);
  });

  test('[TYPE4] a class written with workerd’s types has the same stub', () => {
    type Theirs = workers.Rpc.DurableObjectBranded & {
      target(): workers.Rpc.RpcTargetBranded & { next(): number };
      add(by: number): Promise<number>;
    };
    const use = async (theirs: DurableObjectStub<Theirs>) => {
      expectTypeOf(await theirs.add(1)).toEqualTypeOf<number>();
      const target = await theirs.target();
      expectTypeOf(await target.next()).toEqualTypeOf<number>();
      target[Symbol.dispose]();
    };
    expect(use).toBeTypeOf('function');
  });

  test('[TYPE4] facets have the types that workerd’s have', () => {
    type Facets = DurableObjectState['facets'];
    type Theirs = workers.DurableObjectState['facets'];
    expectTypeOf<keyof Facets>().toEqualTypeOf<keyof Theirs>();
    expectTypeOf<Parameters<Facets['clone']>>().toEqualTypeOf<Parameters<Theirs['clone']>>();
    expectTypeOf<Parameters<Facets['delete']>>().toEqualTypeOf<Parameters<Theirs['delete']>>();
    expectTypeOf<Parameters<Facets['abort']>>().toExtend<Parameters<Theirs['abort']>>();
    expectTypeOf<workers.FacetStartupOptions>().toExtend<FacetStartupOptions>();
    expectTypeOf<FacetStartupOptions>().toExtend<workers.FacetStartupOptions>();
    const use = async ({ facets, exports }: DurableObjectState) => {
      const facet = facets.get<Counter>('a', () => ({ class: exports.Counter!, id: 'text' }));
      expectTypeOf(facet.increment(1)).toExtend<Promise<number>>();
      await facets.get<Counter>('a', async () => ({ class: exports.Counter!({ props: {} }) })).size;
      // @ts-expect-error no such method
      await facet.decrement();
      // @ts-expect-error props are an object
      exports.Counter!({ props: 1 });
      // @ts-expect-error a class is needed
      facets.get('a', () => ({}));
    };
    expect(use).toBeTypeOf('function');
  });

  test('[TYPE4] a namespace of workerd can be used as one of these, for an untyped class', () => {
    type Theirs = workers.DurableObjectNamespace;
    expectTypeOf<ReturnType<Theirs['idFromName']>>().toExtend<DurableObjectId>();
    expectTypeOf<Parameters<Theirs['get']>[0]>().toExtend<Parameters<typeof namespace.get>[0]>();
    expectTypeOf<workers.DurableObjectJurisdiction>().toExtend<
      Parameters<typeof namespace.jurisdiction>[0]
    >();
  });
});
