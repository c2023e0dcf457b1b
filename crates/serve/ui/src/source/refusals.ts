// Which plugin of a scheduler refuses in which words: as crates/render/src/browser/refusals.rs has it for a server.

const WORDS: readonly (readonly [plugin: string, words: readonly string[]])[] = [
  ["dynamicresources", ["resourceclaim", "cannot allocate all claims", "could not allocate"]],
  ["interpodaffinity", ["pod affinity rules", "pod affinity/anti-affinity", "pod anti-affinity", "existing pods anti-affinity"]],
  ["nodeaffinity", ["pod's node affinity", "match node selector"]],
  ["nodename", ["match the requested node name", "requested hostname"]],
  ["nodeports", ["free ports for the requested pod ports"]],
  ["noderesourcesfit", ["insufficient ", "too many pods"]],
  ["nodeunschedulable", ["node(s) were unschedulable"]],
  ["nodevolumelimits", ["exceed max volume count"]],
  ["podtopologyspread", ["pod topology spread constraints"]],
  ["schedulinggates", ["non-empty scheduling gates"]],
  ["tainttoleration", ["untolerated taint", "that the pod didn't tolerate"]],
  ["volumebinding", ["volume node affinity conflict", "available persistent volumes to bind", "unbound immediate persistentvolumeclaims", "persistentvolumeclaim \""]],
  ["volumerestrictions", ["no available disk", "readwriteoncepod access mode already in-use"]],
  ["volumezone", ["no available volume zone"]],
];

const beginning = (plugin: string): (readonly [string, readonly string[]])[] => WORDS.filter(([name]) => name.startsWith(plugin.toLowerCase()));

/** Whether a plugin's name begins so. */
export const isPlugin = (text: string): boolean => text !== "" && beginning(text).length > 0;

/** Whether a message has the words of a plugin that begins so. */
export const isRefusedBy = (plugin: string, message: string): boolean => beginning(plugin).some(([, words]) => words.some((word) => message.toLowerCase().includes(word)));
