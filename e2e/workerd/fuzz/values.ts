// Random values that can be stored, as e2e/workerd/conformance/corpus/canonical.mjs describes them in JSON.

import fc from 'fast-check';

/** How deep lists, objects, maps and sets may be nested. */
const DEPTH_MAX = 3;

const bytes = fc.array(fc.nat(255), { maxLength: 3 });
const fraction = fc.double({ min: 0, max: 1, noNaN: true });

const plainValues = fc.oneof(
  fc.integer({ min: -(2 ** 30), max: 2 ** 30 }),
  fraction.map((part) => part * 1e6),
  fc.constantFrom('', 'text', 'é', '\u{1F600}', 'a\0b', '\ud800'),
  fc.constantFrom(true, false, null),
  tagged('number', fc.constantFrom('NaN', 'Infinity', '-0', '1e300')),
  tagged(
    'bigint',
    fc.oneof(fc.bigInt(0n, 10n ** 9n), fc.bigInt(-(10n ** 18n), 0n)).map((value) => String(value)),
  ),
  tagged('date', fc.nat(2 ** 31 - 1)),
  tagged('regexp', fc.constantFrom('a+', 'é', '(x)')),
  tagged('bytes', bytes),
  tagged('floats', fc.array(fraction, { maxLength: 3 })),
  tagged('buffer', bytes),
  tagged('view', fc.constant([1, 2, 3])),
  tagged('error', fc.constant('message')),
  tagged('boxed', fc.constantFrom(1, 'x', true)),
  tagged('circle', fc.constant('c')),
  tagged('holes', fc.integer({ min: 1, max: 9 })),
  tagged('text', fc.constantFrom('abc ', 'é€')),
  fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, tagged('function', fc.constant(1))),
);

export const storedValues = valuesWithin(DEPTH_MAX);

function valuesWithin(depth: number): fc.Arbitrary<unknown> {
  if (depth === 0) return plainValues;
  const inner = valuesWithin(depth - 1);
  const several = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });
  const containers = fc.oneof(
    tagged('list', several(inner)),
    tagged('object', several(fc.tuple(fc.constantFrom('x', 'y', '1', 'é'), inner))),
    tagged('map', several(fc.tuple(inner, inner))),
    tagged('set', several(inner)),
    tagged('list', fc.tuple(fc.constant(['undefined']), inner)),
  );
  return fc.oneof({ weight: 65, arbitrary: plainValues }, { weight: 35, arbitrary: containers });
}

function tagged<T>(tag: string, content: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return content.map((value) => [tag, value]);
}
