declare const workloads: Readonly<Record<string, unknown>>;
export default workloads;
