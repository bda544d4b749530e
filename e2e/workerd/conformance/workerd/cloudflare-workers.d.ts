// The one class that workerd-main needs of workerd's built-in module; its full types would clash
// with those of the DOM, which this project is checked with.

declare module 'cloudflare:workers' {
  export class DurableObject<Environment = unknown> {
    protected readonly ctx: { readonly id: { toString(): string } };
    protected readonly env: Environment;
    constructor(ctx: unknown, env: Environment);
  }
}
