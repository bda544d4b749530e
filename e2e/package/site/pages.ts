// The pages of the guide, in the order of its navigation, and where each comes from.

/** A page of the site. */
export interface SitePage {
  /** The file in this repository. */
  readonly file: string;
  /** The name of its page, without an ending. */
  readonly page: string;
  readonly title: string;
}

/** A heading of the navigation. */
export interface SiteSection {
  readonly title: string;
  readonly pages: readonly SitePage[];
  /** Pages that the build writes. */
  readonly made?: readonly Omit<SitePage, 'file'>[];
}

const doc = (page: string, title: string): SitePage => ({ file: `docs/${page}.md`, page, title });

export const SECTIONS: readonly SiteSection[] = [
  {
    title: 'Start',
    pages: [
      doc('quick-start', 'Quick start'),
      { file: 'README.md', page: 'overview', title: 'Overview' },
      doc('from-a-page', 'From a page'),
      doc('guarantees', 'Guarantees'),
      doc('classes', 'Classes'),
      { file: 'docs/examples/README.md', page: 'examples', title: 'Examples' },
    ],
  },
  {
    title: 'Use',
    pages: [
      doc('live', 'Live data and frameworks'),
      doc('deployments', 'Tabs and deployments'),
      doc('history', 'Undo and history'),
      doc('branches', 'Branches and differences'),
      doc('follow', 'Follow an object on a server'),
      doc('migrations', 'Migrations'),
      doc('full-text-search', 'Full-text search'),
      doc('large-files', 'Large files'),
      doc('from-indexeddb', 'Coming from IndexedDB or Dexie'),
      doc('performance', 'Performance'),
      doc('deleting', 'Deleting a person’s data'),
      doc('upgrading', 'Upgrade an app'),
      doc('storage-care', 'Persistence and quota'),
      doc('offline', 'Offline'),
      doc('cancelling', 'Cancelling'),
      doc('query-builders', 'Drizzle and Kysely'),
      doc('source', 'Classes from source'),
      doc('workers', 'Whole Workers'),
      doc('security', 'Security'),
      doc('security-sql', 'Security of SQL'),
    ],
  },
  {
    title: 'Test and move',
    pages: [
      doc('testing', 'Node, Playwright'),
      doc('simulate', 'Simulated faults'),
      doc('inspector', 'Inspector'),
      doc('moving', 'Moving and backup'),
      doc('compatibility', 'Compatibility with workerd'),
      doc('bundlers', 'Bundlers and tsconfig'),
    ],
  },
  {
    title: 'Look up',
    pages: [
      doc('errors', 'Errors'),
      doc('troubleshooting', 'Troubleshooting'),
      doc('peers', 'Compared with other libraries'),
      doc('benchmarks', 'Benchmarks'),
      { file: 'CHANGELOG.md', page: 'changes', title: 'Changes' },
    ],
  },
  {
    title: 'Management API',
    pages: [
      doc('management', 'The API on any date'),
      {
        file: 'packages/management/e2e/matrix.md',
        page: 'management-clients',
        title: 'Versions of the SDK',
      },
    ],
    made: [
      { page: 'management-schedule', title: 'Schedule' },
      { page: 'management-errors', title: 'Error codes' },
    ],
  },
  {
    title: 'Internals',
    pages: [
      doc('architecture', 'Architecture'),
      { file: 'docs/internals/decisions.md', page: 'decisions', title: 'Decisions' },
      doc('spec', 'Rule book'),
      doc('commit-log-format', 'Format of the log'),
      doc('testing-the-engine', 'Testing the engine'),
      {
        file: 'docs/internals/follow-protocol.md',
        page: 'follow-protocol',
        title: 'Protocol of followers',
      },
      { file: 'docs/internals/election.md', page: 'election', title: 'Election of the leader' },
      { file: 'docs/internals/new-sqlite.md', page: 'new-sqlite', title: 'Taking a new SQLite' },
      { file: 'docs/internals/releasing.md', page: 'releasing', title: 'Releasing' },
      { file: 'docs/internals/hostile-input.md', page: 'hostile-input', title: 'Hostile input' },
      {
        file: 'docs/internals/benchmarks.md',
        page: 'internals-benchmarks',
        title: 'Methods of the benchmarks',
      },
      {
        file: 'docs/internals/worker-size.md',
        page: 'worker-size',
        title: 'The size of the worker',
      },
      { file: 'CONTRIBUTING.md', page: 'contributing', title: 'Contributing' },
      { file: 'SECURITY.md', page: 'reporting', title: 'Reporting a vulnerability' },
    ],
  },
];

export const PAGES: readonly SitePage[] = SECTIONS.flatMap(({ pages }) => pages);
