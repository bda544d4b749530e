// Decides which names of a stub are members of the other side's value, and which are members of the local stub.
//
// This is separate from rpc-promise.ts, because a page loads this file at once, and the code of calls when it connects.

/** Names that programs read from any object to find out its kind. They stay local. */
const LOCAL_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
]);

/** Returns true for a name that can be a member of the other side's value. */
export function isRemote(name: string | symbol): name is string {
  return (
    typeof name === 'string' && !LOCAL_NAMES.has(name) && !/^\d+$/.test(name) && !isOfVue(name)
  );
}

/** Computes `name in stub`. Any remote name counts, because this side does not know the other side's members. */
export function isIn(target: object, name: string | symbol): boolean {
  return name in target || isRemote(name);
}

/** Returns true for the marks that Vue reads from any value. If they were remote, Vue would unwrap a stub for ever. */
export function isOfVue(name: string): boolean {
  return name.startsWith('__v_');
}
