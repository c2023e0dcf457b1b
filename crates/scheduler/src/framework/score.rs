//! What a plugin returns for scoring, and how raw scores become comparable.

use std::borrow::Cow;
use std::ops::Deref;

use crate::cluster::NodeInfo;

/// What a plugin's PreScore returns.
pub enum PreScore<'a> {
    /// The plugin is skipped for this pod and adds nothing.
    Skip,
    /// The score depends on what is not in etcd.
    Unknown(Cow<'static, str>),
    /// Nodes are scored one by one.
    Score(Score<'a>),
    /// The scoring fails, which ends the attempt with this text.
    Error(String),
}

/// The nodes that fit, in the state's order.
pub struct Feasible<'a> {
    nodes: Vec<&'a NodeInfo>,
    /// How many of them the scheduler does not evaluate, because it stops before; which ones is not recorded.
    pub unseen: usize,
}

impl<'a> Feasible<'a> {
    /// The nodes that fit; the scheduler does not evaluate `unseen` of them.
    pub fn new(nodes: Vec<&'a NodeInfo>, unseen: usize) -> Self {
        Self { nodes, unseen }
    }
}

impl<'a> Deref for Feasible<'a> {
    type Target = [&'a NodeInfo];

    fn deref(&self) -> &Self::Target {
        &self.nodes
    }
}

/// Scores one node, before normalisation.
pub type RawScore<'a> = Box<dyn Fn(&NodeInfo) -> i64 + Sync + 'a>;

/// A prepared score.
pub struct Score<'a> {
    /// The plugin's raw score of a node.
    pub raw: RawScore<'a>,
    /// How the raw scores of all feasible nodes are normalised.
    pub normalize: Normalize<'a>,
}

impl<'a> PreScore<'a> {
    /// A score that is not normalised.
    pub fn plain(raw: impl Fn(&NodeInfo) -> i64 + Sync + 'a) -> Self {
        Self::Score(Score { raw: Box::new(raw), normalize: Normalize::Keep })
    }

    /// A score normalised by upstream's shared helper.
    pub fn scaled(raw: impl Fn(&NodeInfo) -> i64 + Sync + 'a, reverse: bool) -> Self {
        Self::Score(Score { raw: Box::new(raw), normalize: Normalize::Scale { reverse } })
    }
}

/// Normalises the raw scores of the feasible nodes, in their order.
pub(crate) type NormalizeWith<'a> = Box<dyn Fn(&[&NodeInfo], &mut [i64]) + 'a>;

/// How raw scores become normalised ones.
pub enum Normalize<'a> {
    /// They are on the scale already.
    Keep,
    /// By upstream's DefaultNormalizeScore: the highest becomes the maximum; `reverse`: the lowest raw score is the best.
    Scale {
        /// Whether less is better.
        reverse: bool,
    },
    /// By the plugin's own rule, which depends only on the lowest and the highest score.
    Stretch(NormalizeWith<'a>),
    /// By the plugin's own rule, where this (or the raw score itself) depends on other nodes in further ways.
    Compare(NormalizeWith<'a>),
}

impl Normalize<'_> {
    /// Normalises in place; `max` is the maximum score (10 up to 1.16, then 100).
    pub fn apply(&self, nodes: &[&NodeInfo], scores: &mut [i64], max: i64) {
        match self {
            Self::Keep => {}
            Self::Scale { reverse } => scale(scores, max, *reverse),
            Self::Stretch(normalize) | Self::Compare(normalize) => normalize(nodes, scores),
        }
    }

    /// Whether these raw scores are normalised the same whichever `unseen` of the nodes are left out.
    pub fn holds_without(&self, unseen: usize, raw: &[i64]) -> bool {
        let stays = |extreme: Option<&i64>| extreme.is_none_or(|extreme| raw.iter().filter(|one| *one == extreme).count() > unseen);
        unseen == 0
            || match self {
                Self::Keep => true,
                Self::Scale { .. } => stays(raw.iter().max()) || raw.iter().all(|one| *one <= 0),
                Self::Stretch(_) => stays(raw.iter().max()) && stays(raw.iter().min()),
                Self::Compare(_) => false,
            }
    }
}

/// `DefaultNormalizeScore` (`plugins/helper/normalize_score.go`), `NormalizeReduce` (`priorities/reduce.go`).
fn scale(scores: &mut [i64], max: i64, reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        if highest == 0 {
            *score = if reverse { max } else { *score };
        } else {
            let scaled = max * *score / highest;
            *score = if reverse { max - scaled } else { scaled };
        }
    }
}
