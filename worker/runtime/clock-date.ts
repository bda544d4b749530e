// `Date` as object code sees it while the host's clock is under control: now is the clock's now.
//
// The same class in every other way: instances, `instanceof`, subclasses and structured clones are
// the engine's own. `performance.now` stays real time, which measures.

import type { Clock } from './clock.ts';

/** Puts the clock into the scope's Date where `applies` says so; the result undoes it. */
export function installDate(
  scope: { Date: DateConstructor },
  clock: Clock,
  applies: () => boolean,
): () => void {
  const Original = scope.Date;
  const now = () => (clock.isControlled && applies() ? clock.now() : Original.now());
  const controlled: DateConstructor = new Proxy(Original, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [now()] : args,
        newTarget === controlled ? target : newTarget,
      ),
    apply: () => new Original(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  scope.Date = controlled;
  // `new Date().constructor` is the Date that code knows.
  Original.prototype.constructor = controlled;
  return () => {
    scope.Date = Original;
    Original.prototype.constructor = Original;
  };
}
