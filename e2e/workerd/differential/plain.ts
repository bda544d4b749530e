// A class that does not extend DurableObject, and the results of its stubs.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The class `Plain`. */
export function plainOf() {
  return class Plain {
    count() {
      return 1;
    }
    get size() {
      return 2;
    }
    fetch() {
      return new Response('answered');
    }
  };
}

/** The result of each. */
export async function plainAll(all: Untyped): Promise<Record<string, unknown>> {
  const one = all.getByName('one');
  return {
    'a method': await one.count().catch(told),
    'a getter': await one.size.catch(told),
    'a method that is missing': await one.nope().catch(told),
    'a request': await (await one.fetch('http://plain/')).text(),
    'no jurisdiction': ['null', 'undefined'].map((word) => {
      const none = word === 'null' ? null : undefined;
      const [id, other] = [all, all.jurisdiction(none)].map((namespace) =>
        namespace.idFromName('a'),
      );
      return [id.equals(other), typeof all.newUniqueId({ jurisdiction: none }).toString()];
    }),
  };
}

function told({ name, message, remote }: Untyped): unknown[] {
  return [name, message, remote];
}
