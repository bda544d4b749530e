// `process.env` of the code that `dev` runs: the variables and secrets of the project, as on workerd, and nothing of this
// machine.

/** Replaces the variables of the process; the result brings them back. */
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
