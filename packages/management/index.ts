// The library of the emulator's package: an emulated provider of the management interface on any date, whose state is
// in stateful objects. It needs only the interface of storage; modules that need Node have entries of their own.

export {
  handleFetchEvent,
  installFetch,
  managementWorker,
  routeManagement,
} from './adapters/adapters.ts';
export {
  createManagementApi,
  type ManagementApi,
  type ManagementOptions,
  type Transport,
} from './edge/api.ts';
export { ManagementObject } from './objects/management-object.ts';
export type { ManagementNamespace } from './objects/objects.ts';
export {
  type AssertOptions,
  type CallLog,
  DeprecatedCallsError,
} from './report/call-log.ts';
export {
  type DatedRun,
  type DateInterval,
  type DateMatrix,
  forEachDate,
  formatMatrix,
  intervalsOf,
  type Outcome,
} from './report/date-sweep.ts';
export { type FormatOptions, formatReport, type ReportFormat } from './report/formats.ts';
export { callsFromHar, type HarOptions } from './report/har.ts';
export {
  type PageRecorder,
  type RecordedPage,
  recordedCalls,
  recordPage,
} from './report/record-page.ts';
export {
  type RecordOptions,
  type RequestRecorder,
  recordRequests,
} from './report/record-requests.ts';
export type { RecordedCall } from './report/recorded-call.ts';
export {
  type Finding,
  failuresOf,
  type Level,
  type Report,
  type ReportOptions,
  reportOf,
} from './report/report.ts';
export { type CalendarOptions, scheduleCalendar } from './schedule/calendar.ts';
export { SCHEDULE } from './schedule/data.ts';
export { defineSchedule } from './schedule/define-schedule.ts';
export type {
  ChangeKind,
  EarlierDate,
  FieldRule,
  Operation,
  Replacement,
  Schedule,
  ScheduleEntry,
} from './schedule/entry.ts';
export { deprecationHeaders, type HeaderOptions } from './schedule/headers.ts';
export {
  type ChangeOfOperation,
  type DatedEntry,
  type DateLike,
  datesOf,
  deprecations,
  type EndOfOperation,
  type Lookup,
  type LookupOptions,
  lookup,
} from './schedule/lookup.ts';
export { scheduleMarkdown } from './schedule/markdown.ts';
export { MovableClock } from './schedule/movable-clock.ts';
