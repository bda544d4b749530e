// Which names of a stub are members of the other side, and which belong to the object that stands for it.
//
// Apart from rpc-promise.ts: a page loads these names at once, and the code of calls when it connects.

/** Names that programs read from any object, to find its kind. */
const LOCAL_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
]);

/** True for a name that can stand for a member of the other side. */
export function isRemote(name: string | symbol): name is string {
  return (
    typeof name === 'string' && !LOCAL_NAMES.has(name) && !/^\d+$/.test(name) && !isOfVue(name)
  );
}

/** `name in stub`, of a stub that stands for the target. Nobody knows here which members the other side has. */
export function isIn(target: object, name: string | symbol): boolean {
  return name in target || isRemote(name);
}

/** True for a mark that Vue looks for in any value. If each were a member, Vue would unwrap a stub without end. */
export function isOfVue(name: string): boolean {
  return name.startsWith('__v_');
}
