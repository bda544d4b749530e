// Replaces `process.env` for the code that `dev` runs. As on workerd, it has the variables and secrets of the project,
// and no variables of this machine.

/** Replaces `process.env`. The returned function restores it. */
export function replaceProcessEnv(values: Readonly<Record<string, string>>): () => void {
  const before = process.env;
  process.env = new Proxy(
    { ...values },
    {
      set: (env, name, value) => Reflect.set(env, name, String(value)),
    },
  );
  return () => {
    process.env = before;
  };
}
