axe.run(document, { resultTypes: ["violations", "incomplete"] }).then((found) => ({
  passes: found.passes.length,
  incomplete: found.incomplete.map((it) => [it.id, it.nodes.length]),
  violations: found.violations.map((it) => ({
    id: it.id, help: it.help, count: it.nodes.length,
    nodes: it.nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  })),
}))
