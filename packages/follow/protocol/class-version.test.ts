// Tests how the version of a class is found.

import { describe, expect, test } from 'vitest';
import { classVersion } from './class-version.ts';

class Plain {}
class Versioned extends Plain {
  static readonly version = 2;
}
class Inheriting extends Versioned {}

describe('the version of a class', () => {
  test('[FOLP41] is the option, or the static property of the class', () => {
    expect(classVersion(Plain, undefined, 'follow: Todo')).toBeUndefined();
    expect(classVersion(undefined, 3, 'follow: Todo')).toBe(3);
    expect(classVersion(Plain, 3, 'follow: Todo')).toBe(3);
    expect(classVersion(Versioned, undefined, 'follow: Todo')).toBe(2);
    expect(classVersion(Inheriting, undefined, 'follow: Todo')).toBe(2);
    expect(classVersion(Versioned, 2, 'follow: Todo')).toBe(2);
  });

  test('[FOLP41] a property that is not a number means something else', () => {
    for (const version of ['1.2.0', { major: 1 }, null]) {
      class Other extends Plain {
        static version = version;
      }
      expect(classVersion(Other, undefined, 'follow: Todo')).toBeUndefined();
      expect(classVersion(Other, 2, 'follow: Todo')).toBe(2);
    }
  });

  test('[FOLP41] an option and a property that differ are an error, by name', () => {
    expect(() => classVersion(Versioned, 3, 'follow: Todo')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message:
          'follow: Todo: the option version is 3, and the static property version of the class is 2. Remove the option.',
      }),
    );
    for (const version of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
      class Wrong extends Plain {
        static version = version;
      }
      expect(() => classVersion(Wrong, undefined, 'followable(Todo)')).toThrow(
        'followable(Todo): the static property version of the class is not a whole number from 1 on.',
      );
    }
  });
});
