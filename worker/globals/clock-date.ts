// `Date` as object code sees it while the host's clock is controlled: now is the clock's now.
//
// In every other way it is the same class: instances, `instanceof`, subclasses and structured clones are
// the engine's own. `performance.now` stays real time, because it measures.

import { replaceGlobal } from '../../src/io/replace-global.ts';

/** Makes the scope's Date show the controlled time, if there is one; the result undoes it. */
export function installDate(
  scope: { Date: DateConstructor },
  controlledNow: () => number | undefined,
): () => void {
  const Original = scope.Date;
  // A member, so that it is called `now` in bundles too.
  const clock = { now: () => controlledNow() ?? Original.now() };
  const controlled: DateConstructor = new Proxy(Original, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [clock.now()] : args,
        newTarget === controlled ? target : newTarget,
      ),
    apply: () => new Original(clock.now()).toString(),
    get: (target, name) => (name === 'now' ? clock.now : Reflect.get(target, name)),
  });
  const undo = replaceGlobal(scope, 'Date', controlled);
  // `new Date().constructor` is the Date that code knows.
  Original.prototype.constructor = controlled;
  return () => {
    undo();
    Original.prototype.constructor = Original;
  };
}
