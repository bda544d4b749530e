// Exports the parts of packages/vite that `packages/workers` may import, to run a project without a page.

export { environmentOf, processVariables, secretsIn } from './dev-vars.ts';
export type { Variables } from './dot-env.ts';
export { inspectorHtml } from './inspector-route.ts';
export { migrationHint, readMigrations } from './migration-files.ts';
export { type KindOf, kindsBy, moduleOfFile, moduleRules } from './module-rules.ts';
export { populatesProcessEnv, processEnvOf } from './node-apis.ts';
export { HERE, platformModules } from './platform-modules.ts';
export { flagsOf, makerImports, optionLines } from './worker-module.ts';
export {
  mainOf,
  type ObjectsConfig,
  type ProjectBuild,
  parseWranglerConfig,
} from './wrangler-config.ts';
export { type MemberCall, memberCalls, type OwnService, WAYS_OUT } from './wrangler-products.ts';
